def page(results, name): return ""
