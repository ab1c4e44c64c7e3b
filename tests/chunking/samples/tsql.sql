-- Orders.
CREATE TABLE [dbo].[Orders] (Id int);
GO
-- Reads one.
CREATE OR ALTER PROCEDURE dbo.GetOrder @Id int
AS
  SET NOCOUNT ON;
  IF @Id > 1
  BEGIN
    SELECT * FROM dbo.Orders;
  END
  SELECT 2;
GO
ALTER FUNCTION dbo.Twice(@n int) RETURNS int AS BEGIN RETURN @n * 2; END
GO
CREATE VIEW dbo.Recent AS SELECT 1 AS one
GO
