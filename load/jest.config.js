import root from '../jest.config.js';

/**
 * What belongs to load/ alone: `npm test --workspace load`. `npm test` runs these tests too.
 * @type {import('jest').Config}
 */
export default { ...root, rootDir: '..', testMatch: ['<rootDir>/load/test/**/*.test.ts'] };
