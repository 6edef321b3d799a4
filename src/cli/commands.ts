import { backup } from './backup.js';
import type { Command } from './command.js';
import { compare } from './compare.js';
import { doctor } from './doctor/doctor.js';
import { restore } from './restore.js';

/** The sub-commands by name. Without one, `gjallar` starts the server. */
export const commands: Readonly<Record<string, Command>> = { backup, compare, doctor, restore };
