//! The store on PostgreSQL: many replicas over one primary.
