import { describe, expect, it } from 'vitest';
import { consoleLogger } from './console-logger.ts';

describe('the logger of the command line', () => {
  it('writes a line an entry, with the fields; of an error its message, stack and causes', () => {
    const lines: Record<string, unknown>[] = [];
    const logger = consoleLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
    logger.debug('too much');
    logger.info('plain');
    logger.warn('fields', { key: 'default/a', error: 'a text' });
    logger.error('failed', { error: new Error('outer', { cause: new TypeError('inner') }) });
    expect(lines.map(({ msg }) => msg)).toEqual(['plain', 'fields', 'failed']);
    expect(lines[1]).toMatchObject({ key: 'default/a', error: 'a text' });
    const stack = expect.stringMatching(/console-logger\.test\.ts.*caused by: TypeError: inner/s);
    expect(lines[2]?.error).toMatchObject({ type: 'Error', message: 'outer: inner', stack });
  });
});
