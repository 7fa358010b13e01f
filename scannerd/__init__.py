"""From card shoes and scanners to MQTT: one daemon per table, validated cards out."""

__version__ = "0.1.0"
