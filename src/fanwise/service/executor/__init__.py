"""The executor: carries decisions out, within limits, and says what became of them."""
