-- Users and their orders. 利用者。

CREATE TABLE IF NOT EXISTS app.users (
  id   integer PRIMARY KEY,
  name text NOT NULL DEFAULT 'a;b' -- CREATE TABLE no
);

/* Who is active. */
CREATE OR REPLACE VIEW active_users AS
SELECT * FROM app.users WHERE name <> 'CREATE TABLE fake (x)';

CREATE MATERIALIZED VIEW totals AS SELECT 1;
CREATE UNIQUE INDEX CONCURRENTLY users_name ON app.users (name);
CREATE TYPE mood AS ENUM ('良い', '悪い');

-- Adds. Twice.
CREATE OR REPLACE FUNCTION app.add(a integer, b integer)
RETURNS integer AS $body$
BEGIN
  CREATE TEMP TABLE inside (x int);
  RETURN a + b;
END;
$body$ LANGUAGE plpgsql;

CREATE TRIGGER users_touch AFTER UPDATE ON app.users
FOR EACH ROW EXECUTE FUNCTION app.touch();

CREATE TRIGGER lite AFTER INSERT ON a BEGIN
  INSERT INTO b VALUES (new.x);
  UPDATE c SET n = CASE WHEN n > 1 THEN 2 ELSE 1 END;
END;

CREATE VIRTUAL TABLE docs USING fts5(body);
CREATE TABLE "order items" (id int);
CREATE TABLE `計測` (`id` int) ENGINE=InnoDB;
INSERT INTO app.users VALUES (1, 'x');
ALTER TABLE app.users ADD COLUMN age int;
