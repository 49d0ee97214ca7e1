import { describe, expect, it } from 'vitest';
import { checkCertificateNames, wrongNameText } from './certificate-names.ts';

describe('the names of a certificate', () => {
  it.each([
    ['a', { subjectaltname: 'DNS:b, IP Address:10.0.0.1, DNS:c' }, 'x509: certificate is valid for b, c, not a'],
    [
      '10.0.0.2',
      { subjectaltname: 'DNS:b, IP Address:10.0.0.1' },
      'x509: certificate is valid for 10.0.0.1, not 10.0.0.2',
    ],
    [
      '10.0.0.2',
      { subjectaltname: 'DNS:b' },
      "x509: cannot validate certificate for 10.0.0.2 because it doesn't contain any IP SANs",
    ],
    [
      'a',
      { subjectaltname: 'IP Address:10.0.0.1' },
      'x509: certificate is not valid for any names, but wanted to match a',
    ],
    [
      'a',
      { subjectaltname: Array.from({ length: 100 }, (_, index) => `DNS:n${index}`).join(', ') },
      'x509: certificate is valid for 100 names, but none matched a',
    ],
    ['a', { subject: { CN: 'A' } }, 'x509: certificate relies on legacy Common Name field, use SANs instead'],
    ['a', { subject: { CN: 'b' } }, 'x509: certificate is not valid for any names, but wanted to match a'],
  ])('are told in the words of Go: %s of %j', (host, certificate, text) => {
    expect(wrongNameText(host, certificate as never)).toBe(text);
  });

  it('count only where they are alternative names', () => {
    expect(checkCertificateNames('a', { subject: { CN: 'a' } } as never)).toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    expect(checkCertificateNames('a', { subject: { CN: 'b' }, subjectaltname: 'DNS:a' } as never)).toBeUndefined();
    expect(checkCertificateNames('b', { subject: { CN: 'b' }, subjectaltname: 'DNS:a' } as never)).toBeInstanceOf(
      Error,
    );
  });
});
