@tool
extends EditorPlugin
## Nothing to set up: the node KataribeClient is known by its class name.
