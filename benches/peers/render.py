def render(document): return ""
