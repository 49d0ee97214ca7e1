// NodeUses counts, for one object, the references from each node. Most objects are used on one node, so that case needs no map. Part of
// node-graph.ts.

export class NodeUses {
  #node = '';
  #count = 0;
  #others: Map<string, number> | undefined;

  get isEmpty(): boolean {
    return this.#count === 0 && this.#others === undefined;
  }

  has(node: string): boolean {
    return (this.#count > 0 && this.#node === node) || this.#others?.has(node) === true;
  }

  add(node: string): void {
    if (this.#count === 0 && this.#others?.has(node) !== true) this.#node = node;
    if (this.#node === node) this.#count++;
    else {
      this.#others ??= new Map();
      this.#others.set(node, (this.#others.get(node) ?? 0) + 1);
    }
  }

  remove(node: string): void {
    if (this.#node === node && this.#count > 0) {
      this.#count--;
      return;
    }
    const left = (this.#others?.get(node) ?? 0) - 1;
    if (left > 0) this.#others?.set(node, left);
    else this.#others?.delete(node);
    if (this.#others?.size === 0) this.#others = undefined;
  }
}
