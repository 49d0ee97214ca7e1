// The connections between the members of an etcd cluster, through which one can be cut off from the others, in both
// directions, while clients still reach it. Each member has one address for all callers; the request names the caller.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Link {
  readonly to: number;
  /** Id of the calling member, as it names itself; undefined until then. */
  from: string | undefined;
  readonly sockets: readonly [caller: Socket, called: Socket];
}

export interface LinkedMember {
  readonly index: number;
  /** Id in hexadecimal, as etcd writes it. */
  readonly id: string;
}

export class PeerLinks implements AsyncDisposable {
  readonly #servers: Server[] = [];
  readonly #links = new Set<Link>();
  #isolated: LinkedMember | undefined;

  /** Listens for callers of the member. Resolves to the port. */
  async listen(peerPort: number, index: number): Promise<number> {
    const server = createServer((caller) => this.#accept(caller, { peerPort, index }));
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  /** Stops forwarding to and from the member, without closing anything, until {@link heal}. */
  isolate(member: LinkedMember): void {
    this.#isolated = member;
    for (const link of this.#links) this.#hold(link);
  }

  /** Resets the connections that were held. New ones get through. */
  heal(): void {
    const held = [...this.#links].filter((link) => this.#isHeld(link));
    this.#isolated = undefined;
    for (const { sockets } of held) for (const socket of sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)));
    for (const { sockets } of this.#links) for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
  }

  #accept(caller: Socket, { peerPort, index }: { readonly peerPort: number; readonly index: number }): void {
    const called = connect(peerPort, '127.0.0.1');
    const link: Link = { to: index, from: undefined, sockets: [caller, called] };
    this.#links.add(link);
    caller.on('data', (bytes: Buffer) => {
      link.from ??= /^X-Server-From: ([0-9a-f]+)\r$/im.exec(bytes.toString('latin1'))?.[1];
      // Bytes that come too late are lost when the connection is reset.
      if (!this.#hold(link)) called.write(bytes);
    });
    called.on('data', (bytes: Buffer) => caller.write(bytes));
    for (const socket of link.sockets) {
      // The close below tells the other end.
      socket.on('error', () => undefined);
      socket.once('close', () => {
        this.#links.delete(link);
        for (const each of link.sockets) each.destroy();
      });
    }
    this.#hold(link);
  }

  #isHeld({ to, from }: Link): boolean {
    return this.#isolated !== undefined && (to === this.#isolated.index || from === this.#isolated.id);
  }

  #hold(link: Link): boolean {
    if (!this.#isHeld(link)) return false;
    for (const socket of link.sockets) socket.pause();
    return true;
  }
}
