"""Pure calculator formulas: a dataclass in, a `Result` out, no Django."""
