import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectorOf } from './connector.ts';

// The answers of a proxy after which the tunnel counts as open.
const greetings = {
  none: [],
  http: ['HTTP/1.1 200 OK\r\n\r\n'],
  socks: [Buffer.of(5, 0), Buffer.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0)],
} as const;

/**
 * Resolves to the time after which the kernel probes the far side of an idle connection; undefined when it never does.
 * Source: proc_net_tcp(5), columns local_address and tr:tm->when, in hundredths of a second.
 */
async function keepAliveSecondsOf({ localPort = 0, remotePort = 0 }: Socket): Promise<number | undefined> {
  // Both ports are compared, because connections to other servers, even in TIME_WAIT, may have the same local port.
  const [from, to] = [localPort, remotePort].map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`);
  const isOurs = ([, local = '', remote = '']: readonly string[]): boolean =>
    local.endsWith(from as string) && remote.endsWith(to as string);
  for (;;) {
    const lines = readFileSync('/proc/self/net/tcp', 'utf8').split('\n');
    const columns = lines.map((line) => line.trim().split(/ +/));
    const [kind, when = ''] = columns.find(isOurs)?.[5]?.split(':') ?? [];
    if (kind === '02') return Math.round(Number.parseInt(when, 16) / 100);
    if (kind === '00') return undefined;
    // Other timers hide this one until the sent bytes are acknowledged. The file may lack a row while others come and
    // go.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a connection', () => {
  let server: Server;
  let greeting: readonly (string | Buffer)[];
  const sockets = new Set<Socket>();
  beforeEach(async () => {
    server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      let heard = 0;
      socket.on('data', () => {
        const word = greeting[heard++];
        if (word !== undefined) socket.write(word);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await new Promise((resolve) => server.close(resolve));
  });

  it.each<[string, string | undefined, (typeof greetings)[keyof typeof greetings]]>([
    ['without a proxy', undefined, greetings.none],
    ['through an HTTP proxy', 'http', greetings.http],
    ['through a SOCKS5 proxy', 'socks5', greetings.socks],
  ])(
    'sends small writes at once and asks after 30 s of silence whether the far side is there: %s',
    async (_, way, said) => {
      greeting = said;
      // The kernel does not show this setting, so the test spies on its setter; the calls go through.
      const told = vi.spyOn(Socket.prototype, 'setNoDelay');
      const { port } = server.address() as AddressInfo;
      const url = new URL(`http://127.0.0.1:${port}`);
      const proxyUrl = way === undefined ? undefined : `${way}://127.0.0.1:${port}`;
      const texts = { ca: undefined, cert: undefined, key: undefined };
      const connect = connectorOf({
        server: url,
        proxyUrl,
        texts,
        serverName: undefined,
        isInsecure: false,
        offersHttp2: false,
      });
      const target = { protocol: 'http:', hostname: '127.0.0.1', host: url.host, port: String(port) };
      const made = await new Promise<Socket>((resolve, reject) => {
        const callback: buildConnector.Callback = (error, socket) => (error === null ? resolve(socket) : reject(error));
        connect(target, new AbortController().signal, callback);
      });
      const toldIt = told.mock.calls.filter((__, at) => told.mock.contexts[at] === made);
      expect(toldIt.at(-1)).toEqual([true]);
      if (process.platform === 'linux') expect(await keepAliveSecondsOf(made)).toBe(30);
      made.destroy();
    },
  );
});
