"""The drivers that come with scannerd; they enter through the entry points that anyone's driver uses."""
