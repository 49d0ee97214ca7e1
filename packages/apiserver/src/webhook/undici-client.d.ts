// The type of the single file of undici that webhook-connection.ts imports; undici declares only its front door.
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici/index.js';
  export = Client;
}
