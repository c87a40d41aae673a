"""A folder with a page that runs an exported model in the browser, whatever it was exported to.

`contents` describes the model, `runtimes` finds the packages of npm that run it, `writing` puts
both beside the page in `files/`, where each runtime has a module of the same form.
"""
