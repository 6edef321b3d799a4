// The control row: uWebSockets.js alone, publishing from the message handler, as its examples do.

import { app } from './uws-app.js';
import { serve } from './uws-server.js';

serve((topic, message) => app.publish(topic, message));
