import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ContainerSpan, containerSpans } from './container-spans.ts';

/** Returns the contents that the spans find in the text: members by name, each parsed from its span. */
function contentsOf(text: string, span: ContainerSpan): unknown {
  return {
    key: span.key,
    value: JSON.parse(text.slice(span.start, span.end)),
    children: span.children.map((child) => contentsOf(text, child)),
  };
}

/** Returns the same using JSON.parse alone. */
function expectedOf(key: string | number, value: object): unknown {
  const entries = Array.isArray(value) ? value.map((item, index) => [index, item] as const) : Object.entries(value);
  const children = entries.filter(([, child]) => typeof child === 'object' && child !== null);
  return { key, value, children: children.map(([name, child]) => expectedOf(name, child)) };
}

function spansOf(text: string): ContainerSpan {
  const span = containerSpans(text);
  if (span === undefined) throw new Error(`${text} has no container`);
  return span;
}

describe('containerSpans', () => {
  it('finds objects and arrays with their names and positions', () => {
    const text = '{"a":{"b":[1,{},"x"]},"c":2,"d":[[],[{}]]}';
    expect(contentsOf(text, spansOf(text))).toEqual(expectedOf('', JSON.parse(text)));
  });

  it('begins a member of an object with its name, one of an array with itself', () => {
    const text = '{ "a" : { "b" : [ {"c":1} ] } }';
    const a = spansOf(text).children[0];
    const b = a?.children[0];
    const item = b?.children[0];
    expect([a, b, item].map((span) => text.slice(span?.memberStart, span?.end))).toEqual([
      '"a" : { "b" : [ {"c":1} ] }',
      '"b" : [ {"c":1} ]',
      '{"c":1}',
    ]);
  });

  it('is not misled by strings that hold quotes, brackets and backslashes', () => {
    const value = { 'k:{"name":"a"}': { '}\\': ['"{', '\\', '\\"', ',"x":{'] }, ']': [] };
    const text = JSON.stringify(value);
    expect(contentsOf(text, spansOf(text))).toEqual(expectedOf('', value));
  });

  it.each(['1', '"{}"', 'null', ''])('finds none in %s', (text) => {
    expect(containerSpans(text)).toBeUndefined();
  });

  it('goes as deep as the text, without a stack', () => {
    let span = containerSpans('['.repeat(20_000) + ']'.repeat(20_000));
    let depth = 0;
    for (; span !== undefined; span = span.children[0]) depth += 1;
    expect(depth).toBe(20_000);
  });

  it('agrees with JSON.parse on any text, however it is spaced', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.object(), fc.array(fc.object())),
        fc.constantFrom(undefined, 2, '\t'),
        (value, indent) => {
          const text = JSON.stringify(value, undefined, indent);
          expect(contentsOf(text, spansOf(text))).toEqual(expectedOf('', JSON.parse(text)));
        },
      ),
    );
  });
});
