"""The Django project of Prefill and its apps."""
