throw new Error('the database is unreachable');
