"""The screens of Dreams: runs, review, versions and blame."""
