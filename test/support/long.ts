/** Import this in a test file that takes more than 4 CPU seconds: it belongs to the tier `long` then. See setup/tiers.mjs. */
export {};
