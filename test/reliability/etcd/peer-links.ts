// The connections by which the members of an etcd cluster reach each other, so that one can be cut off from the others, both
// ways, while clients still reach it. Members know each other by one address each: who calls stands in the request.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Link {
  readonly to: number;
  /** Id of the member that calls, as it names itself; undefined until it does. */
  from: string | undefined;
  readonly sockets: readonly [caller: Socket, called: Socket];
}

export interface LinkedMember {
  readonly index: number;
  /** In hexadecimal, as etcd writes it. */
  readonly id: string;
}

export class PeerLinks implements AsyncDisposable {
  readonly #servers: Server[] = [];
  readonly #links = new Set<Link>();
  #isolated: LinkedMember | undefined;

  /** Listens for those who call the member, and gives the port. */
  async listen(peerPort: number, index: number): Promise<number> {
    const server = createServer((caller) => this.#accept(caller, { peerPort, index }));
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  /** Forwards nothing to the member and from it, and closes nothing, until {@link heal}. */
  isolate(member: LinkedMember): void {
    this.#isolated = member;
    for (const link of this.#links) this.#hold(link);
  }

  /** Resets what was held. New connections get through. */
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
      // What comes too late is lost with the connection, when that is reset.
      if (!this.#hold(link)) called.write(bytes);
    });
    called.on('data', (bytes: Buffer) => caller.write(bytes));
    for (const socket of link.sockets) {
      // The other end hears of it by the close.
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
