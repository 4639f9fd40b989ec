/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The authority of one door. It vouches for bound hosts and says so in its own certificate (name
 * constraints), so that even its key would be of no use for others. Keys are made when the door
 * starts and go when it ends; certificates of hosts are made when they are first asked for.
 */
#include "egress/authority.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

#include <arpa/inet.h>

#include "base/buf.h"

#define ROOTS_MAX  ((size_t)16 << 20)
#define LEAVES_MAX 128
#define BACK_S     3600L  /* clocks differ */
#define VALID_S    86400L /* of the authority */
#define SERIAL_LEN 16
#define X509_V3    2 /* as the field says it */

/* Where distributions keep whom they trust. */
static const char *const stores[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

struct leaf {
	struct bawn_host host;
	X509 *cert;
};

struct authority {
	X509 *ca;
	EVP_PKEY *ca_key, *leaf_key;
	SSL_CTX *server, *client;
	BIO *roots; /* those that are not read yet */
	struct leaf leaves[LEAVES_MAX];
	size_t n_leaves, oldest;
};

static int failed(struct bawn_error *err, const char *what)
{
	const char *why = ERR_reason_error_string(ERR_peek_last_error());
	int r = bawn_fail(
		err, BAWN_ERR_INTERNAL, -EIO, "%s: %s", what, why ? why : "out of memory");

	ERR_clear_error();
	return r;
}

static void permit(struct bawn_buf *b, const struct bawn_rule *r, bool *names, bool *addresses)
{
	char text[INET6_ADDRSTRLEN];

	if (r->kind == BAWN_RULE_NAME) {
		bawn_buf_printf(b, ",permitted;DNS:%s", r->name);
		*names = true;
	} else if (inet_ntop(r->family, r->addr, text, sizeof(text))) {
		bawn_buf_printf(b, ",permitted;IP:%s/%s", text,
			r->family == AF_INET ? "255.255.255.255"
					     : "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
		*addresses = true;
	}
}

/* What the authority may vouch for. A kind of name that nothing is bound to needs a word, too:
 * silence would permit all of it. */
static void put_constraints(struct bawn_buf *b, const struct bawn_secrets *s)
{
	bool names = false, addresses = false;

	bawn_buf_puts(b, "critical");
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].n_hosts; k++)
			permit(b, &s->v[i].hosts[k], &names, &addresses);
	if (!names)
		bawn_buf_puts(b, ",permitted;DNS:nothing.invalid");
	if (!addresses)
		bawn_buf_puts(b, ",excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:::/::");
}

static bool extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;
	bool fine;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_nconf_nid(NULL, &ctx, nid, value);
	fine = ext && X509_add_ext(cert, ext, -1);
	X509_EXTENSION_free(ext);
	return fine;
}

/* A certificate with everything but extensions and signature. */
static X509 *blank(EVP_PKEY *key, const char *name)
{
	X509 *cert = X509_new();
	X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;
	unsigned char serial[SERIAL_LEN];
	BIGNUM *number = NULL;

	if (cert && RAND_bytes(serial, sizeof(serial)) == 1) {
		serial[0] = (serial[0] & 0x7f) | 0x40; /* positive, and of one length */
		number = BN_bin2bn(serial, sizeof(serial), NULL);
	}
	if (number && X509_set_version(cert, X509_V3) &&
		BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) &&
		X509_gmtime_adj(X509_getm_notBefore(cert), -BACK_S) &&
		X509_gmtime_adj(X509_getm_notAfter(cert), VALID_S) &&
		X509_NAME_add_entry_by_txt(
			subject, "O", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0) &&
		X509_set_pubkey(cert, key)) {
		BN_free(number);
		return cert;
	}
	BN_free(number);
	X509_free(cert);
	return NULL;
}

static X509 *make_ca(EVP_PKEY *key, const struct bawn_secrets *s)
{
	_cleanup_buf_ struct bawn_buf only = {0};
	uint32_t which = 0; /* two authorities of one name would confuse those who look for it */
	char name[64];
	X509 *cert;

	if (RAND_bytes((unsigned char *)&which, sizeof(which)) != 1)
		return NULL;
	(void)snprintf(name, sizeof(name), "bawn session authority %08x", which);
	cert = blank(key, name);
	put_constraints(&only, s);
	if (cert && !only.failed && X509_set_issuer_name(cert, X509_get_subject_name(cert)) &&
		extend(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
		extend(cert, cert, NID_key_usage, "critical,keyCertSign") &&
		extend(cert, cert, NID_subject_key_identifier, "hash") &&
		extend(cert, cert, NID_name_constraints, only.data) &&
		X509_sign(cert, key, EVP_sha256()) > 0)
		return cert;
	X509_free(cert);
	return NULL;
}

static X509 *make_leaf(struct authority *a, const struct bawn_host *host)
{
	char san[BAWN_HOST_MAX + 16];
	X509 *cert = blank(a->leaf_key, "bawn");

	(void)snprintf(
		san, sizeof(san), "%s:%s", host->kind == BAWN_HOST_NAME ? "DNS" : "IP", host->text);
	if (cert && X509_set_issuer_name(cert, X509_get_subject_name(a->ca)) &&
		extend(cert, a->ca, NID_basic_constraints, "critical,CA:FALSE") &&
		extend(cert, a->ca, NID_key_usage, "critical,digitalSignature") &&
		extend(cert, a->ca, NID_ext_key_usage, "serverAuth") &&
		extend(cert, a->ca, NID_subject_key_identifier, "hash") &&
		extend(cert, a->ca, NID_authority_key_identifier, "keyid:always") &&
		extend(cert, a->ca, NID_subject_alt_name, san) &&
		X509_sign(cert, a->ca_key, EVP_sha256()) > 0)
		return cert;
	X509_free(cert);
	return NULL;
}

static X509 *leaf_for(struct authority *a, const struct bawn_host *host)
{
	struct leaf *l;
	X509 *cert;

	for (size_t i = 0; i < a->n_leaves; i++)
		if (bawn_host_equal(&a->leaves[i].host, host))
			return a->leaves[i].cert;
	cert = make_leaf(a, host);
	if (!cert)
		return NULL;
	if (a->n_leaves < LEAVES_MAX) {
		l = &a->leaves[a->n_leaves++];
	} else {
		l = &a->leaves[a->oldest];
		a->oldest = (a->oldest + 1) % LEAVES_MAX;
		X509_free(l->cert);
	}
	*l = (struct leaf){*host, cert};
	return cert;
}

/* HTTP/1.1 is what is read here. A client that wants only something else is told so. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *outlen,
	const unsigned char *in, unsigned int inlen, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";

	(void)ssl;
	(void)arg;
	for (unsigned int i = 0; i < inlen; i += in[i] + 1U)
		if (inlen - i >= sizeof(ours) - 1 && !memcmp(in + i, ours, sizeof(ours) - 1)) {
			*out = in + i + 1;
			*outlen = in[i];
			return SSL_TLSEXT_ERR_OK;
		}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *context(const SSL_METHOD *method)
{
	SSL_CTX *ctx = SSL_CTX_new(method);

	if (!ctx || !SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION)) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	(void)SSL_CTX_set_options(
		ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
	(void)SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
					    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					    SSL_MODE_RELEASE_BUFFERS);
	/* nothing of one connection is of use in another */
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_num_tickets(ctx, 0);
	return ctx;
}

static bool make_contexts(struct authority *a)
{
	static const unsigned char only[] = "\x08http/1.1";

	a->server = context(TLS_server_method());
	a->client = context(TLS_client_method());
	if (!a->server || !a->client ||
		SSL_CTX_set_alpn_protos(a->client, only, sizeof(only) - 1) != 0)
		return false;
	SSL_CTX_set_alpn_select_cb(a->server, choose_protocol, NULL);
	SSL_CTX_set_verify(a->client, SSL_VERIFY_PEER, NULL);
	return true;
}

int authority_new(const struct bawn_secrets *s, struct authority **ret, char **ret_pem,
	struct bawn_error *err)
{
	struct authority *a = calloc(1, sizeof(*a));
	BIO *mem = NULL;
	const char *pem = NULL;
	long n;

	if (!a)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	/* its configuration file could bring other algorithms, engines, anything */
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL)) {
		a->ca_key = EVP_EC_gen("P-256");
		a->leaf_key = EVP_EC_gen("P-256");
		mem = BIO_new(BIO_s_mem());
	}
	if (a->ca_key && a->leaf_key)
		a->ca = make_ca(a->ca_key, s);
	if (a->ca && mem && make_contexts(a) && PEM_write_bio_X509(mem, a->ca)) {
		n = BIO_get_mem_data(mem, &pem);
		*ret_pem = strndup(pem, (size_t)n);
	}
	(void)BIO_free(mem);
	if (!pem || !*ret_pem) {
		(void)authority_free(a);
		return failed(err, "no authority for bound hosts");
	}
	*ret = a;
	return 0;
}

struct authority *authority_free(struct authority *a)
{
	if (!a)
		return NULL;
	for (size_t i = 0; i < a->n_leaves; i++)
		X509_free(a->leaves[i].cert);
	X509_free(a->ca);
	EVP_PKEY_free(a->ca_key);
	EVP_PKEY_free(a->leaf_key);
	SSL_CTX_free(a->server);
	SSL_CTX_free(a->client);
	(void)BIO_free(a->roots);
	free(a);
	return NULL;
}

/* The next root of the file. False: there is none. */
static bool take_root(struct authority *a)
{
	X509 *cert = PEM_read_bio_X509_AUX(a->roots, NULL, NULL, NULL);
	bool fine = cert && X509_STORE_add_cert(SSL_CTX_get_cert_store(a->client), cert);

	X509_free(cert);
	ERR_clear_error();
	return fine;
}

void authority_finish(struct authority *a)
{
	while (a->roots && take_root(a))
		;
	(void)BIO_free(a->roots);
	a->roots = NULL;
}

/* The whole file; NULL: it cannot be read or is no file of certificates by its size. */
static BIO *read_file(const char *file)
{
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);
	BIO *mem = fd >= 0 ? BIO_new(BIO_s_mem()) : NULL;
	char part[8192];
	size_t size = 0;
	ssize_t n = -1;

	while (mem && size < ROOTS_MAX && (n = read(fd, part, sizeof(part))) > 0) {
		size += (size_t)n;
		if (BIO_write(mem, part, (int)n) != n)
			break;
	}
	if (n == 0)
		return mem;
	(void)BIO_free(mem);
	return NULL;
}

int authority_roots(struct authority *a, const char *file, struct bawn_error *err)
{
	for (size_t i = 0; !file && i < sizeof(stores) / sizeof(stores[0]); i++)
		if (access(stores[i], R_OK) == 0)
			file = stores[i];
	if (!file)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOENT,
			"no certificates to check bound hosts with: install 'ca-certificates' or "
			"set SSL_CERT_FILE");
	a->roots = read_file(file);
	if (!a->roots || !take_root(a))
		return bawn_fail(err, BAWN_ERR_BACKEND, -EINVAL,
			"'%s' has no certificates to check bound hosts with", file);
	return 0;
}

SSL *authority_accept(struct authority *a, const struct bawn_host *host)
{
	X509 *cert = leaf_for(a, host);
	SSL *ssl = cert ? SSL_new(a->server) : NULL;

	if (ssl && SSL_use_certificate(ssl, cert) == 1 &&
		SSL_use_PrivateKey(ssl, a->leaf_key) == 1) {
		SSL_set_accept_state(ssl);
		return ssl;
	}
	SSL_free(ssl);
	ERR_clear_error();
	return NULL;
}

SSL *authority_connect(struct authority *a, const struct bawn_host *host)
{
	SSL *ssl;
	struct bawn_host copy = *host; /* the macro below takes no const */
	bool fine;

	authority_finish(a);
	ssl = SSL_new(a->client);
	if (!ssl)
		return NULL;
	SSL_set_connect_state(ssl);
	SSL_set_hostflags(
		ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (host->kind == BAWN_HOST_NAME)
		fine = SSL_set1_host(ssl, host->text) == 1 &&
		       SSL_set_tlsext_host_name(ssl, copy.text) == 1;
	else
		fine = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host->text) == 1;
	if (fine)
		return ssl;
	SSL_free(ssl);
	ERR_clear_error();
	return NULL;
}
