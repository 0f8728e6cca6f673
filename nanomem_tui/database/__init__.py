"""The store on SQLModel: models, engines, operations, snapshot. See `store.Store`."""
