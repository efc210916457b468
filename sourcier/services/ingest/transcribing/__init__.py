"""Speech to text: recordings decoded and heard part by part, in a confined process of its own."""
