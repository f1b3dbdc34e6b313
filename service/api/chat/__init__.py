"""/v1: the door for OpenAI clients."""
