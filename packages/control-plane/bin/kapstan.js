#!/usr/bin/env node
import { listenForStop } from '../dist/command/stop-signal.js';
import { loadCommand } from '../dist/load-command.js';

const args = process.argv.slice(2);
// The handler is installed before the rest is loaded, which takes a while, because the server may be told to stop at
// once.
const stop = args[0] === 'serve' ? listenForStop() : undefined;
const { main } = await loadCommand();
process.exitCode = await main(args, stop);
