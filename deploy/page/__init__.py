"""A folder with a web page that runs an exported model in the browser.

`contents` describes the model, `runtimes` finds the npm packages that run it, `writing` puts both
beside the page's files in `files/`, which has a module of the same interface for each runtime.
"""
