import { runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { compile, compileInSlices } from './compile.ts';
import { CelProgramError } from './syntax/issues.ts';
import { CelMap } from './values/cel-map.ts';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** An expression whose evaluation costs about ten million units. */
const dear = compile('n.all(x, n.all(y, x + y >= 0))', { declarations: { variables: { n: 'list(int)' } } });

describe('a compilation in slices', () => {
  it('gives the same expression and the same errors as one at once, in a step for each of its parts', () => {
    const declarations = { variables: { n: 'list(int)' } };
    for (const text of ['n.map(x, x + 1).sum() > 3', "[n.size(), 2].exists(x, x == 1) ? 'a' : 'b'"]) {
      const [atOnce, inSlices] = [compile(text, { declarations }), runWhole(compileInSlices(text, { declarations }))];
      expect([inSlices.type, inSlices.cost]).toEqual([atOnce.type, atOnce.cost]);
    }
    for (const text of ['n.map(', 'n + 1', "n == 'a' || m"]) {
      const errorOf = (work: () => unknown): unknown => {
        try {
          return work();
        } catch (error) {
          return (error as Error).message;
        }
      };
      const expected = errorOf(() => compile(text, { declarations }));
      expect(expected).toMatch(/^ERROR: /);
      expect(errorOf(() => runWhole(compileInSlices(text, { declarations })))).toBe(expected);
    }
    const steps = compileInSlices('n.size() == 1', { declarations });
    // The first pause comes after the text was read, the second after the tokens were.
    expect([steps.next().done, steps.next().done, steps.next().done]).toEqual([false, false, true]);
  });
});

describe('an evaluation in slices', () => {
  it('gives the result, the error and the cost of one at once', () => {
    const texts = [
      'n.all(x, n.exists(y, x == y))',
      'n.map(x, n.filter(y, y < x).size()).sum()',
      "n.map(x, string(x)).exists(s, s == '299')",
      'n.all(x, x < 250 || 1 / (x - 299) < 0)',
      'n.transformMap(i, v, n.filter(k, k == v)).size()',
      '[n.map(x, x), n.map(x, -x)].map(l, l.size())',
      "{'a': n.filter(x, x > 3)}.a.size() + (n.all(x, true) ? n.map(x, x).size() : 1)",
      'n.sortBy(x, n.all(y, y >= 0) ? -x : x)[0]',
      'optional.of(n.map(x, x)).orValue([])[n.exists(x, x == 1) ? 1 : 0]',
      'n.all(x, n.all(y, x == y))',
    ];
    for (const text of texts) {
      const compiled = compile(text, { declarations: { variables: { n: 'list(int)' } } });
      const work = compiled.evaluateInSlices({ n: numbers(300) }, { budget: 10_000_000 });
      let step = work.next();
      while (step.done !== true) step = work.next();
      expect(step.value, text).toEqual(compiled.evaluate({ n: numbers(300) }, { budget: 10_000_000 }));
    }
  });

  it('pauses each few thousand units of cost', () => {
    const work = dear.evaluateInSlices({ n: numbers(1_000) }, { budget: 10_000_000 });
    let pauses = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) pauses++;
    expect(step.value).toMatchObject({ value: true });
    expect(step.value.cost / pauses).toBeLessThan(10_000);
  });

  it('is done before the first pause when it is soon done', () => {
    const work = dear.evaluateInSlices({ n: numbers(10) });
    expect(work.next().done).toBe(true);
  });

  it('ends over the budget with the same cost', () => {
    const at = (budget: number) => {
      const work = dear.evaluateInSlices({ n: numbers(1_000) }, { budget });
      let step = work.next();
      while (step.done !== true) step = work.next();
      return step.value;
    };
    expect(at(123_456)).toEqual({ error: 'operation cancelled: actual cost limit exceeded', cost: 123_457 });
    expect(dear.evaluate({ n: numbers(1_000) }, { budget: 123_456 })).toEqual(at(123_456));
  });

  it('ends one above the budget where a step costs several', () => {
    const path = compile('o.a.b.c.d', { declarations: { variables: { o: 'dyn' } } });
    const o = { a: { b: { c: { d: 1 } } } };
    expect(path.evaluate({ o })).toMatchObject({ value: 1, cost: 5 });
    expect(path.evaluate({ o }, { budget: 2 })).toMatchObject({ cost: 3 });
  });
});

describe('an evaluation in turns', () => {
  it('leaves the event loop to others', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const result = await dear.evaluateInTurns({ n: numbers(1_000) }, { budget: 10_000_000 });
    clearInterval(timer);
    expect(result).toMatchObject({ value: true });
    expect(turns).toBeGreaterThan(3);
  });

  it('ends with the reason of its signal', async () => {
    const controller = new AbortController();
    const result = dear.evaluateInTurns({ n: numbers(1_000) }, { budget: 10_000_000, signal: controller.signal });
    controller.abort(new Error('the request is over'));
    await expect(result).rejects.toThrow('the request is over');
  });
});

describe('an activation', () => {
  it('is an object, or a source that finds values when they are asked for', () => {
    const compiled = compile('x.a + 1', { declarations: { variables: { x: 'dyn' } } });
    expect(compiled.evaluate({ x: { a: 1 } })).toEqual({ value: 2, cost: 3 });
    expect(compiled.evaluate({ find: (name: string) => (name === 'x' ? { a: 2 } : undefined) })).toMatchObject({
      value: 3,
    });
    expect(compiled.evaluate({})).toMatchObject({ error: 'no such attribute(s): x' });
  });

  it('is not asked for what objects inherit', () => {
    const compiled = compile('has(x.toString) || has(x.__proto__) || has(x.constructor)', {
      declarations: { variables: { x: 'dyn' } },
    });
    expect(compiled.evaluate({ x: {} })).toMatchObject({ value: false });
    const selected = compile('x.constructor', { declarations: { variables: { x: 'dyn' } } });
    expect(selected.evaluate({ x: {} })).toMatchObject({ error: 'no such key: constructor' });
    expect(compile('toString', { declarations: { variables: { toString: 'dyn' } } }).evaluate({})).toMatchObject({
      error: 'no such attribute(s): toString',
    });
  });

  it('may hold maps of any keys', () => {
    const map = new CelMap();
    map.set(1, 'one');
    const compiled = compile("m[1] == 'one' && m[1u] == 'one'", {
      declarations: { variables: { m: 'map(dyn, string)' } },
    });
    expect(compiled.evaluate({ m: map })).toMatchObject({ value: true });
  });
});

describe('what would fill the memory', () => {
  it.each([
    ['lists.range(9223372036854775807)', /not supported/],
    [
      "lists.range(60).map(i, 'aaaaaaaaaa').join('b').replace('', lists.range(9000).map(i, 'aaaaaaaaaaaaaaaaaaaa').join('')).size()",
      /./,
    ],
    ["('%.99999999' + 'f').format([1.5])", /not supported/],
  ])('%s is refused', (text, message) => {
    const compiled = compile(text, { declarations: { variables: { n: 'list(int)' } } });
    expect(compiled.evaluate({ n: [1] }).error ?? 'fits').toMatch(message);
  });
});

describe('a constant map whose key is bytes', () => {
  it("has no program, because Go's would end every evaluation", () => {
    const compiled = compile("dyn({dyn(b'a'): 1}) == 2 || {b'a': 1}.size() == 1", { checksTypes: false });
    expect(() => compiled.program).toThrow(CelProgramError);
    expect(() => compiled.program).toThrow('hash of unhashable type types.Bytes');
  });
});

describe('bytes as a key', () => {
  it.each([
    ["dyn(b'') in {1: 1}", 'internal error: runtime error: hash of unhashable type types.Bytes'],
    ["{dyn(1): 1, ?dyn(b''): optional.none()}", 'internal error: runtime error: hash of unhashable type types.Bytes'],
    ["{?dyn(b''): optional.none()}", 'internal error: hash of unhashable type: types.Bytes'],
  ])('%s fails with the text of Go', (text, message) => {
    expect(compile(text).evaluate({}).error).toBe(message);
  });

  it('is in no empty map', () => {
    expect(compile("dyn(b'') in {}").evaluate({})).toMatchObject({ value: false });
  });
});
