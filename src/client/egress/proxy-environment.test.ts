import { proxyFromEnvironment } from './proxy-environment.js';

const PROXY = 'http://proxy.example:3128';
const NO_PROXY = [
  'plain.example',
  '.below.example',
  '*.star.example',
  'port.example:8443',
  '10.1.0.0/16',
  'fd00::/8',
  '192.0.2.7',
  '192.0.2.8:8443',
  '[2001:db8::1]:8443',
  '2001:db8::2',
  ' SPACES.example ',
  ':80',
  'bücher.example',
].join(',');

describe('NO_PROXY', () => {
  const proxyFor = proxyFromEnvironment({ HTTPS_PROXY: PROXY, NO_PROXY });
  test.each([
    ['other.example', true],
    ['plain.example', false],
    ['a.plain.example', false],
    ['notplain.example', true],
    ['below.example', true],
    ['a.below.example', false],
    ['star.example', true],
    ['a.star.example', false],
    ['port.example', true],
    ['port.example:8443', false],
    ['a.port.example:8443', false],
    ['10.1.2.3', false],
    ['10.2.2.3', true],
    ['[fd12::1]', false],
    ['[fe80::1]', true],
    ['192.0.2.7:1234', false],
    ['192.0.2.8', true],
    ['192.0.2.8:8443', false],
    ['[2001:db8::1]', true],
    ['[2001:db8::1]:8443', false],
    ['[2001:db8::2]:8443', false],
    ['spaces.example', false],
    ['xn--bcher-kva.example', false],
    ['localhost', false],
    ['localhost:8443', false],
    ['127.0.0.1', false],
    ['127.9.9.9:8443', false],
    ['[::1]', false],
    ['localhost.example', true],
  ])('%s: a proxy: %s', (host, proxied) => {
    expect(proxyFor(new URL(`https://${host}/x`))?.href).toBe(proxied ? `${PROXY}/` : undefined);
  });
});

test('http and https have their own proxy variables, in upper or lower case; other schemes have none', () => {
  const proxyFor = proxyFromEnvironment({ https_proxy: 'secure.example:1', HTTP_PROXY: 'socks5://plain.example' });
  expect(proxyFor(new URL('https://a.example'))?.href).toBe('http://secure.example:1/');
  expect(proxyFor(new URL('http://a.example'))?.href).toBe('socks5://plain.example');
  expect(proxyFor(new URL('ftp://a.example'))).toBeUndefined();
});

test('* in NO_PROXY matches every host', () => {
  expect(proxyFromEnvironment({ HTTPS_PROXY: PROXY, NO_PROXY: 'a,*' })(new URL('https://b.example'))).toBeUndefined();
});

test('an invalid proxy address is refused, and not repeated in the error', () => {
  expect(() => proxyFromEnvironment({ HTTPS_PROXY: 'http://user:secret@a b' })).toThrow(/^invalid proxy address[^@]*$/);
});
