package main

import (
	"crypto/x509"
	"log/slog"
	"net"
	"slices"
	"time"
)

// Config is every setting, read and checked. Values go inward from here: no other package reads the environment.
type Config struct {
	Listen      string // host:port; port 0 lets the system choose
	BaseURL     string // the URL that people see, without a slash at its end
	BaseURLSet  bool   // false: derived from Listen, so wrong while its port is 0 (see BaseURLFor)
	DataDir     string
	LogFormat   string // text or json
	LogLevel    slog.Level
	Language    string // of pages where nothing says better: en or zh-CN
	ImageAccess string // link or login

	WebhookAllow   string        // rules as written; fetch reads them
	TrashRetention time.Duration // what is in the trash for longer is deleted for ever; 0: never

	AdminUsername string // empty: a setup link is printed
	AdminPassword string

	MetricsToken string // empty: only this machine may read the metrics

	QuotaImages int64    // of each person a day; 0: no bound
	QuotaBytes  int64    // stored, of each person; 0: no bound
	CORSOrigins []string // sites whose scripts may use the API; empty: none

	DatabaseURL string // empty: SQLite in DataDir

	S3      S3Config
	Archive ArchiveConfig
	OpenAI  ProviderConfig

	Replicate ProviderConfig
	DashScope ProviderConfig
	A1111     ProviderConfig

	Effective []EffectiveSetting // what `afterimage config` shows
	Problems  []Problem          // what was found wrong; of an app that runs, only warnings
}

// S3Config says where objects go. No bucket: to a folder in DataDir.
type S3Config struct {
	Bucket          string
	Endpoint        string // empty: AWS, or what its own environment says; Region and keys likewise
	Region          string
	AccessKeyID     string
	SecretAccessKey string
	Prefix          string
	PathStyle       string // auto, true or false
	PublicURL       string // where anybody can read the bucket; empty: images pass through us
}

// ArchiveConfig tunes the archive worker and what it fetches.
type ArchiveConfig struct {
	Concurrency   int // images at once
	MaxAttempts   int
	RetryDelays   []time.Duration // the last repeats
	LockTTL       time.Duration
	PollInterval  time.Duration
	SweepInterval time.Duration

	MaxBytes     int64
	MaxPixels    int64
	Timeout      time.Duration
	StallTimeout time.Duration
	MinSpeed     int64 // bytes a second

	Allow    string // rules as written; fetch reads them, main reports what it says
	Ports    []int
	CAFile   string
	Resolver string // address or address:port
	Proxy    string
}

// ProviderConfig is a provider and its server.
type ProviderConfig struct {
	APIKey  string // empty: the server wants none
	BaseURL string
	Models  []string // empty: the provider's own list
	Enabled bool     // what it needs was given: for most a key, for others an address
}

// LoadConfig reads the environment, given as os.Environ does, and the files it names. It returns every problem that it
// finds. Where one is not a warning the app must not start; the Config is then only good for showing.
func LoadConfig(environ []string, readFile func(string) ([]byte, error)) (Config, []Problem) {
	return readConfig(newEnvironment(environ, "", readFile))
}

func readConfig(env *environment) (Config, []Problem) {
	var c Config
	problems := env.problems
	for _, s := range settings() {
		problems = append(problems, s.load(&c, env)...)
	}
	problems = append(problems, unknownNames(env)...)
	problems = append(problems, contradictions(env)...)
	problems = append(problems, uselessPublicURL(c)...)
	problems = append(problems, checkCAFile(c.Archive.CAFile, env.readFile)...)

	c.deriveBaseURL()
	c.OpenAI.Enabled = env.has("OPENAI_API_KEY") || env.has("OPENAI_BASE_URL")
	c.Replicate.Enabled = env.has("REPLICATE_API_TOKEN")
	c.DashScope.Enabled = env.has("DASHSCOPE_API_KEY")
	c.A1111.Enabled = env.has("A1111_URL")
	return c, problems
}

func (c *Config) deriveBaseURL() {
	c.BaseURLSet = c.BaseURL != ""
	if c.BaseURLSet {
		return
	}
	c.BaseURL = BaseURLFor(c.Listen)
	i := slices.IndexFunc(c.Effective, func(s EffectiveSetting) bool { return s.Name == "AFTERIMAGE_BASE_URL" })
	c.Effective[i].Value = c.BaseURL
}

// BaseURLFor is the URL under which a browser on this machine reaches what listens on the address.
func BaseURLFor(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	if port == "80" {
		return "http://" + bracketed(host)
	}
	return "http://" + net.JoinHostPort(host, port)
}

// bracketed: an IPv6 address stands in brackets in a URL.
func bracketed(host string) string {
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return "[" + host + "]"
	}
	return host
}

// contradictions are problems between settings. They look at what was given, not at what came of it, so that a bad
// value is not reported a second time as a missing one.
func contradictions(env *environment) []Problem {
	var problems []Problem
	for _, pair := range [][2]string{
		{"AFTERIMAGE_ADMIN_USERNAME", "AFTERIMAGE_ADMIN_PASSWORD"},
		{"AFTERIMAGE_ADMIN_PASSWORD", "AFTERIMAGE_ADMIN_USERNAME"},
		{"S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"},
		{"S3_SECRET_ACCESS_KEY", "S3_ACCESS_KEY_ID"},
	} {
		if env.has(pair[0]) && !env.has(pair[1]) {
			problems = append(problems, Problem{Name: pair[1], Text: "is missing: " + pair[0] + " is set; set both or neither"})
		}
	}
	if given := givenOfS3(env); given != "" && !env.has("S3_BUCKET") {
		// Going on would keep the images on this machine's disk while somebody believes that they are in the bucket.
		problems = append(problems, Problem{Name: "S3_BUCKET", Text: "is missing: " + given + " is set; name the bucket, or unset the others to use the disk"})
	}
	return append(problems, withoutEffect(env)...)
}

// withoutEffect are settings of a provider that is not set up.
func withoutEffect(env *environment) (problems []Problem) {
	for _, p := range []struct {
		names, needs []string
		text         string
	}{
		{[]string{"OPENAI_MODELS"}, []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"}, "neither OPENAI_API_KEY nor OPENAI_BASE_URL is set"},
		{[]string{"REPLICATE_BASE_URL", "REPLICATE_MODELS"}, []string{"REPLICATE_API_TOKEN"}, "REPLICATE_API_TOKEN is not set"},
		{[]string{"DASHSCOPE_BASE_URL", "DASHSCOPE_MODELS"}, []string{"DASHSCOPE_API_KEY"}, "DASHSCOPE_API_KEY is not set"},
		{[]string{"A1111_API_AUTH", "A1111_MODELS"}, []string{"A1111_URL"}, "A1111_URL is not set"},
	} {
		if slices.ContainsFunc(p.needs, env.has) {
			continue
		}
		for _, name := range p.names {
			if env.has(name) {
				problems = append(problems, Problem{Name: name, Warning: true, Text: "has no effect: " + p.text})
			}
		}
	}
	return problems
}

// uselessPublicURL warns of a public address of images that are private.
func uselessPublicURL(c Config) []Problem {
	if c.S3.PublicURL == "" || c.ImageAccess != "login" {
		return nil
	}
	return []Problem{{Name: "S3_PUBLIC_URL", Warning: true,
		Text: "has no effect: with AFTERIMAGE_IMAGE_ACCESS=login images pass through the app; the bucket should not be public"}}
}

// givenOfS3 names a setting of S3 that was given.
func givenOfS3(env *environment) string {
	for _, name := range []string{"S3_ENDPOINT", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY", "S3_REGION", "S3_PREFIX", "S3_PUBLIC_URL"} {
		if env.has(name) {
			return name
		}
	}
	return ""
}

func checkCAFile(path string, readFile func(string) ([]byte, error)) []Problem {
	const name = "IMAGE_ARCHIVE_CA_FILE"
	if path == "" {
		return nil
	}
	pem, err := readFile(path)
	if err != nil {
		return []Problem{settingProblem(name, path, "cannot be read: "+fileError(err))}
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return []Problem{settingProblem(name, path, "holds no certificate in PEM form")}
	}
	return nil
}
