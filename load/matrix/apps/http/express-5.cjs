require('./express.cjs')(require('express'));
