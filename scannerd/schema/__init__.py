"""The contract for machines: JSON Schema of each message, and AsyncAPI, both made of the models."""

from __future__ import annotations

from scannerd.schema.messages import Json, Schema, definitions, json_schema

__all__ = ["Json", "Schema", "definitions", "json_schema"]
