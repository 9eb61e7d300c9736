library(testthat)
library(knng)

test_check("knng")
