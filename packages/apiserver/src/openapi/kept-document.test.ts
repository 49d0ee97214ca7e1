import { describe, expect, it } from 'vitest';
import { KeptDocument } from './kept-document.ts';

const smallBytes = 1_000;
const largeBytes = 8 * 1024 * 1024;

function counted(length: number): { readonly document: KeptDocument<'json' | 'protobuf'>; readonly made: string[] } {
  const made: string[] = [];
  const document = new KeptDocument<'json' | 'protobuf'>(async (form) => {
    made.push(form);
    return new Uint8Array(length);
  });
  return { document, made };
}

describe('a document', () => {
  it('is made once for all who ask', async () => {
    const { document, made } = counted(smallBytes);
    const [first, second] = await Promise.all([document.bytes('json'), document.bytes('json')]);
    expect(await document.bytes('json')).toBe(first);
    expect(second).toBe(first);
    expect(await document.bytes('protobuf')).not.toBe(first);
    expect(made).toEqual(['json', 'protobuf']);
  });

  it('is shared while somebody has it, when it is large', async () => {
    const { document, made } = counted(largeBytes);
    const held = await document.bytes('json');
    expect(await document.bytes('json')).toBe(held);
    expect(made).toEqual(['json']);
  });

  it('is made anew after a failure', async () => {
    let isBroken = true;
    const document = new KeptDocument<'json'>(async () => {
      if (isBroken) throw new Error('broken');
      return new Uint8Array(smallBytes);
    });
    await expect(document.bytes('json')).rejects.toThrow('broken');
    isBroken = false;
    expect(await document.bytes('json')).toHaveLength(smallBytes);
  });
});
