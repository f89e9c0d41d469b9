"""States that know only inner products: a factor that grows by a row a round."""
