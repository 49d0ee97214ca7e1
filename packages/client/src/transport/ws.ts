// The part of npm ws that this package uses. Bundlers leave ws out where a program opens no WebSocket, because this module alone imports it
// (scripts/join-modules.mjs).
export { WebSocket } from 'ws';
