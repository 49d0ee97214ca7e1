#!/usr/bin/env node
import { listenForStop } from '../dist/command/stop-signal.js';
import { loadCommand } from '../dist/load-command.js';

const args = process.argv.slice(2);
// Before the rest is loaded, which takes a while: who starts a server may end it at once.
const stop = args[0] === 'serve' ? listenForStop() : undefined;
const { main } = await loadCommand();
process.exitCode = await main(args, stop);
