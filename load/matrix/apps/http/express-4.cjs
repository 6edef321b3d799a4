require('./express.cjs')(require('express4'));
