import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  // gjallar is a link here, and has no React of its own.
  resolve: { dedupe: ['react'] },
  // While you develop, `npm run dev` serves the page, and `npm start` the sockets.
  server: { proxy: { '/socket.io': { target: 'http://localhost:3000', ws: true } } },
});
