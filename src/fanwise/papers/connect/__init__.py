"""Chen, Tock and Jacobsen, ICDCS 2016: overlays that connect topics within a budget of links."""
