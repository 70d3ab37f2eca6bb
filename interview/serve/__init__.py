"""Starting the site: one supervisor, its children (Valkey, web, worker), and what must be ready before them."""
