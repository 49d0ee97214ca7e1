import { expect, it } from 'vitest';
import { readDefinitions } from './read-definitions.ts';

it('names a URL in an error without its user and its query', async () => {
  const reading = readDefinitions('http://me:hunter2@127.0.0.1:9/a.yaml?token=hunter2');
  await expect(reading).rejects.toThrow('http://127.0.0.1:9/a.yaml: a user in a URL is not sent');
  await expect(reading).rejects.not.toThrow('hunter2');
});
