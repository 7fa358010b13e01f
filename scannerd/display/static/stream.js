// The line to the daemon: what is on show, and a heartbeat each second. A line on which nothing comes is as good as cut:
// a pulled cable ends no connection, so a new one is tried beside it.

const SILENCE_MS = 3500;
const AGAIN_MS = 2500;

// Calls `hello` with who speaks, `show` with what is on show, and `lost` once when that is no longer sure.
export function follow({ hello, show, lost }) {
  let source = null;
  let last = null;
  let sure = false;
  let heard = performance.now();
  let opened = 0;

  const told = (event) => { heard = performance.now(); return JSON.parse(event.data); };
  const doubt = () => {
    if (sure) lost();
    sure = false;
  };
  const trust = () => {
    sure = true;
    show(last);
  };

  function open() {
    source?.close();
    opened = performance.now();
    source = new EventSource("/events");
    source.addEventListener("hello", (event) => hello(told(event)));
    source.addEventListener("show", (event) => { last = told(event); trust(); });
    source.addEventListener("beat", (event) => { told(event); if (last && !sure) trust(); });
    source.addEventListener("error", doubt);
  }

  open();
  setInterval(() => {
    const now = performance.now();
    const silent = now - heard > SILENCE_MS;
    if (silent) doubt();
    if ((silent || source.readyState === EventSource.CLOSED) && now - opened > AGAIN_MS) open();
  }, 250);
}
