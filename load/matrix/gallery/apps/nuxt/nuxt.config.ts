export default defineNuxtConfig({
  compatibilityDate: '2025-12-01',
  telemetry: false,
  nitro: { preset: 'node-listener' },
});
