"""The demo: a real Label Studio, real images, and on request a scripted annotator."""
