// As in main.ts: with the accessor gone, a JSON key "__proto__" is an ordinary property.
Reflect.deleteProperty(Object.prototype, '__proto__');
