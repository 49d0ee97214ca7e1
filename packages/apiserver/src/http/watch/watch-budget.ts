// WatchBudget: the bytes that wait in all watches for clients that do not read, bounded for each user and for the server. Bytes
// that several watches share count once. Told by watch-response.ts; ends the greediest watch first.

/** What a watch is to the budget. */
export interface BudgetedWatch {
  /** Drops what waits and ends the watch at once. */
  endForBudget(reason: BudgetReason): void;
}

/** Whose bound was exceeded. */
export type BudgetReason = 'user' | 'server';

export interface WatchBudgetOptions {
  /** Bytes that may wait in all watches of one user. 0 = no bound. */
  readonly userBytes: number;
  /** Bytes that may wait in all watches together. 0 = no bound. */
  readonly serverBytes: number;
}

/** Bytes in memory: shared ones, each counted once, and those that are held by one watch alone. */
class HeldBytes {
  total = 0;
  readonly #holders = new Map<Uint8Array, number>();

  hold(bytes: Uint8Array): void {
    const holders = this.#holders.get(bytes) ?? 0;
    this.#holders.set(bytes, holders + 1);
    if (holders === 0) this.total += bytes.length;
  }

  release(bytes: Uint8Array): void {
    const holders = this.#holders.get(bytes) ?? 0;
    if (holders > 1) this.#holders.set(bytes, holders - 1);
    else if (this.#holders.delete(bytes)) this.total -= bytes.length;
  }
}

interface User {
  readonly name: string;
  readonly held: HeldBytes;
  readonly accounts: Set<WatchAccount>;
}

export class WatchBudget {
  readonly #options: WatchBudgetOptions;
  readonly #all = new HeldBytes();
  readonly #users = new Map<string, User>();

  constructor(options: WatchBudgetOptions) {
    this.#options = options;
  }

  /** Bytes that wait in all watches. */
  get bytes(): number {
    return this.#all.total;
  }

  /** Users with watches that are open. */
  get users(): number {
    return this.#users.size;
  }

  /** The account of one watch, to be closed with it. */
  open(userName: string, watch: BudgetedWatch): WatchAccount {
    const user = this.#users.get(userName) ?? { name: userName, held: new HeldBytes(), accounts: new Set() };
    this.#users.set(userName, user);
    const account = new WatchAccount(watch, {
      counters: [user.held, this.#all],
      onMore: () => this.#enforce(user),
      onClosed: () => {
        user.accounts.delete(account);
        if (user.accounts.size === 0) this.#users.delete(user.name);
      },
    });
    user.accounts.add(account);
    return account;
  }

  #enforce(user: User): void {
    const { userBytes, serverBytes } = this.#options;
    if (userBytes > 0 && user.held.total > userBytes) {
      endGreediest(user.accounts, 'user', () => user.held.total > userBytes);
    }
    if (serverBytes > 0 && this.#all.total > serverBytes) {
      const accounts = [...this.#users.values()].flatMap((one) => [...one.accounts]);
      endGreediest(accounts, 'server', () => this.#all.total > serverBytes);
    }
  }
}

/** Ends watches, those with the most bytes first. One that shares all its bytes frees nothing until the others are gone too. */
function endGreediest(accounts: Iterable<WatchAccount>, reason: BudgetReason, isTooMuch: () => boolean): void {
  const greedy = [...accounts].filter(({ bytes }) => bytes > 0).sort((one, other) => other.bytes - one.bytes);
  for (const account of greedy) {
    if (!isTooMuch()) return;
    account.watch.endForBudget(reason);
  }
}

interface AccountPorts {
  readonly counters: readonly HeldBytes[];
  onMore(): void;
  onClosed(): void;
}

/** What one watch holds while its client is behind. */
export class WatchAccount {
  readonly watch: BudgetedWatch;
  readonly #ports: AccountPorts;
  #bytes = 0;
  #ownBytes = 0;

  constructor(watch: BudgetedWatch, ports: AccountPorts) {
    this.watch = watch;
    this.#ports = ports;
  }

  /** All that waits in this watch, shared or not. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts bytes that begin to wait. May end this watch before it returns. */
  hold(bytes: Uint8Array): void {
    this.#add(bytes);
    this.#ports.onMore();
  }

  /** Counts all that waits already. May end this watch before it returns. */
  begin(waiting: readonly Uint8Array[]): void {
    for (const bytes of waiting) this.#add(bytes);
    this.#ports.onMore();
  }

  /** Counts bytes that go on waiting, in parts. Ends nothing. */
  keep(bytes: Uint8Array): void {
    this.#add(bytes);
  }

  #add(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    for (const counter of this.#ports.counters) counter.hold(bytes);
  }

  release(bytes: Uint8Array): void {
    this.#bytes -= bytes.length;
    for (const counter of this.#ports.counters) counter.release(bytes);
  }

  /** Says how many bytes this watch holds for itself: those in its socket. May end this watch before it returns. */
  holdOwn(bytes: number): void {
    const more = bytes - this.#ownBytes;
    this.#ownBytes = bytes;
    this.#bytes += more;
    for (const counter of this.#ports.counters) counter.total += more;
    if (more > 0) this.#ports.onMore();
  }

  close(): void {
    this.holdOwn(0);
    this.#ports.onClosed();
  }
}
